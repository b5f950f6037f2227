// SPDX-License-Identifier: MIT
import io.github.bloomfile.BloomfileException;
import io.github.bloomfile.Filter;
import io.github.bloomfile.Fold;
import io.github.bloomfile.Merge;
import io.github.bloomfile.WriteOption;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.List;
import java.util.zip.CRC32;

/** As tomorrow.c, by the library of Java, which does not write in place. */
public final class Tomorrow {
    private Tomorrow() {
    }

    private interface Making {
        void make(Path to) throws IOException;
    }

    private static String made(Path to, Making making) throws IOException {
        try {
            making.make(to);
        } catch (BloomfileException e) {
            return e.code().fullName();
        }
        CRC32 sum = new CRC32();
        sum.update(Files.readAllBytes(to));
        return String.format("%08x", sum.getValue());
    }

    private static String ask(Path path, List<String> keys, Path made) throws IOException {
        StringBuilder said = new StringBuilder("read ");
        try (Filter f = Filter.open(path)) {
            f.verify();
            CRC32 sum = new CRC32();
            for (String key : keys) {
                sum.update(f.mayContain(key.getBytes(StandardCharsets.UTF_8)) ? '1' : '0');
            }
            said.append(String.format("ok ok %08x %s", sum.getValue(), f.error() == null ? "ok" : f.error().code().fullName()));
        } catch (BloomfileException e) {
            return said + e.code().fullName();
        }
        said.append(' ').append(made(made, to -> Fold.byFactor(to, path, 1, WriteOption.REPLACE)));
        said.append(' ').append(made(made, to -> Merge.union(to, Collections.singletonList(path), WriteOption.REPLACE)));
        return said.toString();
    }

    /** Arguments: the file of the keys, and a path to write to. */
    public static void main(String[] args) throws IOException {
        List<String> keys = Files.readAllLines(Paths.get(args[0]), StandardCharsets.UTF_8);
        BufferedReader paths = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String path = paths.readLine(); path != null; path = paths.readLine()) {
            System.out.println(ask(Paths.get(path), keys, Paths.get(args[1])));
        }
    }
}
