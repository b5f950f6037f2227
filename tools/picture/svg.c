/* SPDX-License-Identifier: MIT
 * SVG elements, escaped text, and colours for light and dark. */
#include "picture/svg.h"

static void put_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

void svg_start(FILE *out, unsigned width, unsigned height, const char *title)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 0 %u %u\">\n<title>",
            width, height, width, height);
    put_escaped(out, title);
    fputs("</title>\n"
          "<style>\n"
          "text { font: 14px sans-serif; fill: #333 }\n"
          "text.title { font-size: 20px; font-weight: bold; fill: #111 }\n"
          "text.middle { text-anchor: middle }\n"
          "text.end { text-anchor: end }\n"
          ".ground { fill: #fff }\n",
          out);
}

void svg_start_dark(FILE *out)
{
    fputs("@media (prefers-color-scheme: dark) {\n"
          "text { fill: #ccc }\n"
          "text.title { fill: #eee }\n"
          ".ground { fill: #161b22 }\n",
          out);
}

void svg_start_picture(FILE *out, unsigned width, unsigned height)
{
    fprintf(out, "}\n</style>\n<rect class=\"ground\" width=\"%u\" height=\"%u\"/>\n", width,
            height);
}

void svg_text(FILE *out, const char *class, double x, double y, const char *text)
{
    fprintf(out, "<text class=\"%s\" x=\"%.6g\" y=\"%.6g\">", class, x, y);
    put_escaped(out, text);
    fputs("</text>\n", out);
}
