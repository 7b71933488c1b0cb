/** A dotted name, cut at its start if it does not fit, because its end says more. */
export function Name({ text }: { readonly text: string }) {
  return (
    <span class="cut one-line" title={text}>
      <bdi>{text}</bdi>
    </span>
  );
}

/** Whether a text contains one of the searched texts, in any case. */
export const findsIn = (text: string, parts: readonly string[]): boolean =>
  parts.some((part) => text.toLowerCase().includes(part.toLowerCase()));

/** A text in which all searched texts are marked. */
export function Marked({ text, parts }: { readonly text: string; readonly parts: readonly string[] }) {
  const pieces = [];
  let end = 0;
  for (const [from, to] of foundIn(text, parts)) {
    pieces.push(text.slice(end, from), <mark key={from}>{text.slice(from, to)}</mark>);
    end = to;
  }
  return (
    <>
      {pieces}
      {text.slice(end)}
    </>
  );
}

/** The positions of the matches from left to right, with adjacent ones merged. */
function foundIn(text: string, parts: readonly string[]): readonly (readonly [from: number, to: number])[] {
  const lower = text.toLowerCase();
  const found: [from: number, to: number][] = [];
  for (const wanted of parts.map((part) => part.toLowerCase()).filter(Boolean)) {
    for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
      found.push([at, at + wanted.length]);
    }
  }
  const merged: [from: number, to: number][] = [];
  for (const [from, to] of found.toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}
