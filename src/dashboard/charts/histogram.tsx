import { useState } from 'preact/hooks';
import type { StatsBucketBody } from '../../wire.ts';
import { count, percent, seconds } from '../text/format.ts';
import type { Series } from './chart.ts';
import { ChartFrame } from './chart-frame.tsx';

const LABEL_PX = 70;

/** Columns with the number of tasks up to each duration. Bounds that grow by a factor make a logarithmic axis. */
export function Histogram(props: {
  readonly label: string;
  /** Smallest first. */
  readonly classes: readonly StatsBucketBody[];
  /** Pixels. */
  readonly height: number;
}) {
  const { label, classes, height } = props;
  const [index, point] = useState<number | null>(null);
  const total = classes.reduce((sum, { count: some }) => sum + some, 0);
  const steps = classes.map((_, at) => boundText(classes, at));
  const tasks: Series = {
    label: (index === null ? null : steps[index]) ?? 'tasks',
    look: 'bars',
    tone: 'running',
    mark: '■',
    unit: 'count',
    total: count(total),
    values: classes.map(({ count: some }) => some),
    format: (some) => `${count(some)} (${percent(some, total)})`,
  };
  return (
    <ChartFrame
      label={label}
      legend={[tasks]}
      panels={[{ height, series: [tasks] }]}
      head="Up to"
      steps={steps}
      index={index}
      point={point}
      textOf={(at) => `${steps[at]}: ${count(classes[at]?.count ?? 0)} tasks`}
      axis={(width) => <Bounds classes={classes} width={width} />}
    />
  );
}

function boundText(classes: readonly StatsBucketBody[], index: number): string {
  const le = classes[index]?.le ?? null;
  const above = classes[index - 1]?.le ?? null;
  if (le !== null) return `< ${seconds(le)}`;
  return above === null ? 'all' : `≥ ${seconds(above)}`;
}

/** The upper bounds of the classes, as many as there is room for. */
function Bounds(props: { readonly classes: readonly StatsBucketBody[]; readonly width: number }) {
  const { classes, width } = props;
  const every = Math.max(1, Math.ceil((classes.length * LABEL_PX) / width));
  return (
    <div class="small-text chart-bounds num dim" aria-hidden="true">
      {classes.map(({ le }, at) => (
        <span key={at}>{at % every === 0 && le !== null ? seconds(le) : ''}</span>
      ))}
    </div>
  );
}
