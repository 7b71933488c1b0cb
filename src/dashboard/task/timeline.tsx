import type { TimelineEntryBody } from '../../client.ts';
import { Moment } from '../parts/moment.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { millis } from '../text/moments.ts';
import { duration } from '../text/numbers.ts';

/** Every observed change, with the exception of each attempt. */
export function Timeline({ entries }: { readonly entries: readonly TimelineEntryBody[] }) {
  if (entries.length === 0)
    return <p class="dim">No changes were recorded: only the stored result of this task is known.</p>;
  let attempt = 1;
  const rows = entries.map((entry, index) => {
    const mine = entry.retries === null ? attempt : entry.retries + 1;
    if (entry.state === 'RETRY') attempt = Math.max(attempt, mine + 1);
    else attempt = Math.max(attempt, mine);
    const before = millis(entries[index - 1]?.timestamp ?? null);
    const at = millis(entry.timestamp);
    return { entry, attempt: mine, after: before === null || at === null ? null : at - before };
  });
  return (
    <ol class="timeline">
      {rows.map(({ entry, attempt: mine, after }, index) => (
        <li key={index}>
          <div class="timeline-line">
            <StateBadge state={entry.state} />
            <Moment at={entry.timestamp} missing="unknown time" />
            {after !== null && <span class="dim">{`+${duration(after)}`}</span>}
            {attempt > 1 && <span class="dim">{`attempt ${mine}`}</span>}
            {entry.worker !== null && <span class="dim">{entry.worker}</span>}
          </div>
          {entry.detail !== null && <pre class="timeline-detail">{entry.detail}</pre>}
        </li>
      ))}
    </ol>
  );
}
