import { type StepHandlers, useSteps } from './use-steps.ts';

/** The interactive area of a chart: one tab stop, with arrow keys to move. */
export function Slider(
  props: StepHandlers & {
    readonly label: string;
    /** A step in words. */
    readonly textOf: (index: number) => string;
  },
) {
  const { label, textOf, count, index } = props;
  const { selected, handlers } = useSteps(props);
  const here = index ?? count - 1;
  const [first, last] = selected ?? [here, here];
  const place = { left: `${(first / count) * 100}%`, width: `${((last - first + 1) / count) * 100}%` };
  const text = selected === null ? textOf(here) : `from ${textOf(first)}, to ${textOf(last)}`;
  return (
    <div
      class="chart-slider"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={count - 1}
      aria-valuenow={here}
      aria-valuetext={text}
      {...handlers}
    >
      {index !== null && <i class={selected === null ? 'chart-cursor' : 'chart-selection'} style={place} />}
    </div>
  );
}
