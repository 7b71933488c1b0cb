import type { TaskProgressBody } from '../../client.ts';
import { count } from '../text/numbers.ts';

/** The progress of a task, as it reports it. */
export function ProgressBar({ progress }: { readonly progress: TaskProgressBody }) {
  const { current, total, percent, text } = progress;
  const steps =
    current === null ? null : total === null ? count(current) : `${count(current)} of ${count(total)}`;
  const share = percent === null ? null : `${Math.floor(percent)} %`;
  return (
    <div class="task-progress">
      {percent !== null && <progress max={100} value={percent} aria-label="Progress" />}
      <span>
        {[share, steps].filter((part) => part !== null).join(' · ')}
        {text !== null && <span class="dim wrap"> {text}</span>}
      </span>
    </div>
  );
}
