// SPDX-License-Identifier: MIT

// The rate to expect, and the choice of m and k: sizes.md.

package bloomfile

import "math"

const (
	defaultRate = 0.01
	tie         = 1.0 / (1 << 26) // rates closer than this count as equal
	maxK        = 64
)

// sizer computes rates of one layout and one k.
type sizer struct {
	layout Layout
	k      int
	dist   [maxK + 1]float64 // of a block: how many of k cells the throws so far have not hit
	rates  []float64         // of a block with 0, 1, 2, ... keys
}

func newSizer(layout Layout, k int) *sizer {
	s := &sizer{layout: layout, k: k}
	s.dist = distinctCells(k, 512)
	return s
}

// distinctCells returns how probable it is that k throws hit 0, 1, 2, ... different cells.
func distinctCells(k int, cells float64) (dist [maxK + 1]float64) {
	dist[0] = 1
	for i := 0; i < k; i++ {
		for j := i; j >= 0; j-- {
			hit := float64(j) / cells
			dist[j+1] += dist[j] * (1 - hit)
			dist[j] *= hit
		}
	}
	return dist
}

// throw hits one of the cells.
func throw(dist *[maxK + 1]float64, k int, cells float64) {
	for j := 0; j < k; j++ {
		dist[j] = dist[j]*(1-float64(j)/cells) + dist[j+1]*float64(j+1)/cells
	}
	dist[k] *= 1 - float64(k)/cells
}

// unit is the number of cells by which m grows.
func (s *sizer) unit() uint64 {
	if s.layout == Blocked {
		return 512
	}
	return 1
}

// rate returns the rate to expect of n keys: sizes.md 1.
func (s *sizer) rate(n, m uint64) float64 {
	if n == 0 {
		return 0
	}
	var body float64
	switch {
	case s.layout == Blocked:
		body = s.blockedRate(float64(n), float64(m/512))
	case n > uint64(2048/s.k):
		body = s.manyRate(float64(n), float64(m))
	default:
		body = s.fewRate(int(n)*s.k, float64(m))
	}
	return math.Min(1, body+(1-body)*math.Ldexp(float64(n), -64))
}

func (s *sizer) fewRate(throws int, cells float64) float64 {
	dist := distinctCells(s.k, cells)
	for ; throws > 0; throws-- {
		throw(&dist, s.k, cells)
	}
	return dist[0]
}

// manyRate is the rate of section 2.
func (s *sizer) manyRate(n, m float64) float64 {
	k := float64(s.k)
	load := n * k / m
	fill, empty := -math.Expm1(-load), math.Exp(-load)
	spread := (empty - (1+load)*math.Exp(-2*load)) / (m * fill * fill)
	return math.Pow(fill+empty*load/(2*m), k) * math.Exp(spread*k*(k-1)/2)
}

// crowded returns the rate of a block of crowd keys.
func (s *sizer) crowded(crowd int) float64 {
	if crowd > 4096/s.k {
		return 1
	}
	for len(s.rates) <= crowd {
		s.rates = append(s.rates, s.dist[0])
		for i := 0; i < s.k; i++ {
			throw(&s.dist, s.k, 512)
		}
	}
	return s.rates[crowd]
}

func (s *sizer) blockedRate(n, blocks float64) float64 {
	most := 4096 / s.k
	if blocks == 1 {
		return s.crowded(int(math.Min(n, float64(most+1))))
	}
	var sum, below, last float64
	chance := n * math.Log1p(-1/blocks) // the logarithm of the probability of crowd
	for crowd := 0; float64(crowd) <= n; crowd++ {
		if crowd > most && float64(crowd) < n/blocks {
			return sum + 1 - below // all larger crowds
		}
		probability := math.Exp(chance)
		term := probability * s.crowded(crowd)
		sum, below = sum+term, below+probability
		if term < last && term < sum*1e-16 {
			break
		}
		last = term
		chance += math.Log((n-float64(crowd))/float64(crowd+1)) - math.Log(blocks-1)
	}
	return sum
}

// atMost compares by section 3.
func atMost(rate, target float64) bool { return rate <= target*(1+tie) }

// least returns the smallest number of units that is enough for n keys, or 0.
func (s *sizer) least(n uint64, target float64) uint64 {
	limit := maxBits / s.unit()
	enough := func(units uint64) bool { return atMost(s.rate(n, units*s.unit()), target) }
	if target <= math.Ldexp(float64(n), -64) {
		return 0
	}
	low, high := uint64(0), uint64(1)
	for !enough(high) {
		if high >= limit {
			return 0
		}
		low, high = high, high*2
	}
	for low+1 < high {
		middle := low + (high-low)/2
		if enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// full reports whether the expected rate of n keys is over twice the target, or over a half if neither a rate nor a capacity
// was planned. How many keys a slice gets is chance, so slices have a margin.
func (h *header) full(n uint64, planned bool) bool {
	if n == 0 {
		return false
	}
	if h.incompat == isSlice {
		share := float64(h.capacity) * float64(h.m/512) / float64(h.wholeBlocks)
		if float64(n) <= share+6*(math.Sqrt(share)+1) {
			return false
		}
	}
	target := math.Float64frombits(h.fpr)
	if target == 0 && !planned {
		target = 0.25
	} else if target == 0 {
		target = h.rate(h.capacity, 512*h.wholeBlocks)
	}
	return h.rate(n, h.m) > 2*target*(1+tie)
}

// rate returns the rate to expect of n keys in m bits; 0: those of the header.
func (h *header) rate(n, m uint64) float64 {
	if m == 0 {
		m = h.m
	}
	if h.layout == Ribbon {
		return ribbonRate(n, m/512)
	}
	return newSizer(h.layout, int(h.k)).rate(n, m)
}

// sizeFor returns m and k for n keys and a target rate: section 4. k is 0, or the only k to try.
func sizeFor(layout Layout, n uint64, target float64, k int) (uint64, int, error) {
	first, last := 1, maxK
	if k != 0 {
		first, last = k, k
	}
	var units uint64
	best := 0
	for k := first; k <= last && (best == 0 || k <= best+3); k++ {
		if least := newSizer(layout, k).least(n, target); least != 0 && (best == 0 || least < units) {
			units, best = least, k
		}
	}
	if best == 0 {
		return 0, 0, ErrUnreachable
	}
	unit := newSizer(layout, best).unit()
	return roundUnits(units, maxBits/unit) * unit, best, nil
}

var divisors = []uint64{1, 2, 4, 6, 12, 24, 36, 48, 60, 120, 180, 240, 360, 720, 840, 1260, 1680, 2520, 5040, 7560,
	10080, 15120, 20160, 25200, 27720, 45360, 50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960,
	554400, 665280, 720720}

// roundUnits rounds up by at most half a percent, so that the filter folds in many ways.
func roundUnits(units, limit uint64) uint64 {
	best := units
	try := func(divisor uint64) {
		if multiple := roundUp(units, divisor); multiple-units <= units/200 && multiple <= limit {
			best = multiple
		}
	}
	for _, divisor := range divisors {
		try(divisor)
	}
	for divisor := uint64(2 * 720720); divisor <= 2*units; divisor *= 2 {
		try(divisor)
	}
	return best
}

// bestK returns the k of the lowest rate for n keys in m bits: section 5.
func bestK(layout Layout, n, m uint64) int {
	best, rate := 1, newSizer(layout, 1).rate(n, m)
	for k := 2; k <= maxK && k <= best+3; k++ {
		if r := newSizer(layout, k).rate(n, m); r < rate*(1-tie) {
			best, rate = k, r
		}
	}
	return best
}

// ribbonLines returns the number of lines for n keys and a target rate: sizes.md 6.
func ribbonLines(n uint64, target float64) (uint64, error) {
	high := uint64(maxBits / 512)
	enough := func(lines uint64) bool { return atMost(ribbonRate(n, lines), math.Min(target, 0.24)) }
	if target <= math.Ldexp(float64(n), -64) || !enough(high) {
		return 0, ErrUnreachable
	}
	for high > 1 && enough(high/2) {
		high /= 2
	}
	for low := high / 2; low+1 < high; {
		if middle := low + (high-low)/2; enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}

// ribbonRate returns the rate to expect of n keys in ribbon pages.
func ribbonRate(n, lines uint64) float64 {
	last := lines % 64
	var body float64
	if last < lines {
		body = float64(lines-last) * meanPageRate(n, 64, lines)
	}
	if last > 0 {
		body += float64(last) * meanPageRate(n, last, lines)
	}
	body /= float64(lines)
	return math.Min(1, body+(1-body)*math.Ldexp(float64(n), -64))
}

// meanPageRate returns the mean rate of pages of some of all lines, from their most probable number of keys outwards.
func meanPageRate(n, some, all uint64) float64 {
	words := 16*some - 2
	if some == all {
		return crowdedPageRate(n, words)
	}
	others := float64(all-some) / float64(some)
	peak := uint64(float64(n) / (1 + others))
	if crowdedPageRate(peak/2, words) == 1 {
		return 1
	}
	weights, sum := 1.0, crowdedPageRate(peak, words)
	for crowd, weight := peak, 1.0; crowd < n && weight > 1e-17*sum; {
		weight *= float64(n-crowd) / float64(crowd+1) / others
		crowd++
		weights, sum = weights+weight, sum+weight*crowdedPageRate(crowd, words)
	}
	for crowd, weight := peak, 1.0; crowd > 0 && weight > 1e-17; {
		weight *= float64(crowd) / float64(n-crowd+1) * others
		crowd--
		weights, sum = weights+weight, sum+weight*crowdedPageRate(crowd, words)
	}
	return sum / weights
}

// further is how many groups more than firstGroups pages of 0, 1000, 2000, ... keys need on average.
var further = [17]float64{0, 0, 0.008, 0.05, 0.23, 0.58, 1.07, 1.75, 2.8, 3.75, 4.4, 5.5, 6.8, 8.2, 9.6, 11, 12.4}

// crowdedPageRate returns the mean rate of a page of crowd keys.
func crowdedPageRate(crowd, words uint64) float64 {
	place := math.Min(float64(crowd)/1000, 16)
	i := int(math.Min(place, 15))
	whole, part := math.Modf(further[i] + (further[i+1]-further[i])*(place-float64(i)))
	groups := firstGroups(crowd) + uint64(whole)
	if groups > words/2 {
		return 1
	}
	rate, next := pageRate(words, groups), 1.0
	if groups < words/2 {
		next = pageRate(words, groups+1)
	}
	return rate + (next-rate)*part
}

// firstGroups returns the groups with which the solution of a page begins: ribbon.md 5.
func firstGroups(count uint64) uint64 {
	if count > 1<<32 {
		count = 1 << 32 // too many for any page
	}
	if groups := (41*count + 1279) / 1280; groups > 2 {
		return groups
	}
	return 2
}
