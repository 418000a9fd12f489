// Longer names are compared by this many first characters: the cost is the product of both lengths.
const comparedLength = 64;

// A stranger may send unknown names, so the search is bounded: it takes about a millisecond.
const maxCandidates = 10_000;
const maxComparisons = 200;

/**
 * Returns up to three candidates that differ from `name` by at most a third of its characters, nearest first. Among very many
 * candidates it may miss some.
 */
export function nearestNames(name: string, candidates: Iterable<string>): string[] {
  const wanted = name.slice(0, comparedLength);
  const limit = Math.max(2, Math.floor(wanted.length / 3));
  const near: { candidate: string; distance: number }[] = [];
  let read = 0;
  let compared = 0;
  for (const candidate of candidates) {
    read += 1;
    if (read > maxCandidates || compared === maxComparisons) break;
    if (!mayBeNear(wanted, candidate, limit)) continue;
    compared += 1;
    const distance = editDistance(wanted, candidate.slice(0, comparedLength), limit);
    if (distance <= limit) near.push({ candidate, distance });
  }
  return near
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ candidate }) => candidate);
}

/** Cheap filter: names of similar length that share their first or last character. */
function mayBeNear(wanted: string, candidate: string, limit: number): boolean {
  const length = Math.min(candidate.length, comparedLength);
  if (Math.abs(length - wanted.length) > limit) return false;
  const isSame = (a: string | undefined, b: string | undefined): boolean => a?.toLowerCase() === b?.toLowerCase();
  return isSame(wanted[0], candidate[0]) || isSame(wanted.at(-1), candidate[length - 1]);
}

/** Returns the case-insensitive Levenshtein distance, or some number above `limit` if the distance exceeds it. */
function editDistance(left: string, right: string, limit: number): number {
  if (Math.abs(left.length - right.length) > limit) return limit + 1;
  const a = left.toLowerCase();
  const b = right.toLowerCase();
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    let smallest = row;
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const distance = Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
      current.push(distance);
      smallest = Math.min(smallest, distance);
    }
    if (smallest > limit) return limit + 1;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
