import '../style/charts.css';
import '../style/lines.css';
import '../style/squares.css';
import type { Tone } from './chart.ts';

/** One outcome of {@link Squares}. */
export interface Outcome {
  readonly key: string;
  readonly tone: Tone;
  /** What happened and when, in words. */
  readonly label: string;
  readonly link: string;
}

const MARKS: Readonly<Record<Tone, string>> = {
  failed: '■',
  retried: '↻',
  succeeded: '✓',
  running: '●',
  waiting: '○',
  cancelled: '–',
} as const;

/** Outcomes of the latest runs, each with a link, the latest one at the end. A phone shows the latest seven. */
export function Squares(props: { readonly label: string; readonly outcomes: readonly Outcome[] }) {
  const { label, outcomes } = props;
  return (
    <ul class="squares" aria-label={label}>
      {outcomes.map(({ key, tone, label: text, link }) => (
        <li key={key}>
          <a href={link} aria-label={text} title={text}>
            <i class={`square fill-${tone}`}>{MARKS[tone]}</i>
          </a>
        </li>
      ))}
    </ul>
  );
}
