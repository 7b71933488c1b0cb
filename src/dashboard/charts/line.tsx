import '../style/lines.css';
import type { Tone } from './chart.ts';
import type { Scale } from './panel.tsx';

/** How a line is drawn: `thick` and `thin` for current figures, `dashed` for the previous period. */
export type LineLook = 'thick' | 'thin' | 'dashed';

/** A line through the middle of each step. Unknown values are a dotted gap, a single value is a dot. */
export function Line(props: {
  readonly values: readonly (number | null)[];
  readonly look: LineLook;
  readonly tone: Tone;
  readonly scale: Scale;
}) {
  const { values, look, tone, scale } = props;
  const { x, y, step } = scale;
  let [solid, gaps] = ['', ''];
  let before: { readonly index: number; readonly at: string } | null = null;
  values.forEach((value, index) => {
    if (value === null) return;
    const at = `${(x(index) + step / 2).toFixed(1)} ${y(value).toFixed(1)}`;
    const isNext = before?.index === index - 1;
    if (before !== null && !isNext) gaps += `M${before.at}L${at}`;
    // The line without length is a dot, because its ends are round.
    solid += isNext ? `L${at}` : `M${at}l0 0`;
    before = { index, at };
  });
  return (
    <>
      <path class={`chart-gap stroke-${tone}`} d={gaps} />
      <path class={`line-${look} stroke-${tone}`} d={solid} />
    </>
  );
}
