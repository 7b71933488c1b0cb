import type { TaskLogBody } from '../../client.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { count } from '../text/numbers.ts';

/** The end of a job's log. */
export function JobLog({ log }: { readonly log: TaskLogBody }) {
  const { lines, total } = log;
  const text = lines.join('\n');
  return (
    <section class="value" aria-label="Log">
      <div class="value-head">
        <h2>Log</h2>
        {lines.length < total && (
          <span class="dim">{`the last ${lines.length} of ${count(total)} lines`}</span>
        )}
        <CopyButton text={text} what="log" />
      </div>
      <pre tabIndex={0}>{text}</pre>
    </section>
  );
}
