import { greatest, type Tone } from './chart.ts';

const [WIDTH, HEIGHT] = [96, 20];

/** A small chart of columns within a row, without axes. */
export function Sparkline(props: {
  /** Oldest first; `null`: unknown. */
  readonly values: readonly (number | null)[];
  /** What it shows, in words. */
  readonly label: string;
  readonly tone: Tone;
  /** The value of a column of full height. Default: the greatest one. */
  readonly most?: number;
}) {
  const { values, label, tone, most = Math.max(1, greatest(values)) } = props;
  const step = WIDTH / Math.max(1, values.length);
  let [columns, gaps] = ['', ''];
  values.forEach((value, index) => {
    const left = (index * step).toFixed(1);
    if (value === null) gaps += `M${left} ${HEIGHT - 1}h${step.toFixed(1)}`;
    else if (value > 0) {
      const tall = Math.max(2, (value / most) * HEIGHT).toFixed(1);
      columns += `M${left} ${HEIGHT}v${-tall}h${Math.max(1, step - 0.5).toFixed(1)}v${tall}z`;
    }
  });
  return (
    <svg
      class="sparkline"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <path class="chart-gap stroke-waiting" d={gaps} />
      <path class={`fill-${tone}`} d={columns} />
    </svg>
  );
}
