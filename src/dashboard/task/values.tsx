import type { TaskDetailBody, TaskLogBody, TimelineEntryBody } from '../../client.ts';
import { CopyButton } from '../parts/copy-button.tsx';
import { Moment } from '../parts/moment.tsx';
import { StateBadge } from '../parts/state-badge.tsx';
import { type Tab, Tabs } from '../parts/tabs.tsx';
import { ValueBlock } from '../parts/value-block.tsx';
import { currentRoute, go, linkHere } from '../route.ts';
import { useStore } from '../store.ts';
import { millis } from '../text/moments.ts';
import { count, duration } from '../text/numbers.ts';
import { isEmpty } from '../text/states.ts';
import { wordsFor } from '../text/words.ts';

/** The arguments of a task, its result, and what happened in between: a tab for each that is known. */
export function TaskTabs({ task }: { readonly task: TaskDetailBody }) {
  const chosen = useStore(currentRoute).query.get('tab');
  const choose = (id: string): void => go(linkHere({ tab: id }), true);
  return <Tabs label="Of this task" tabs={tabsOf(task)} chosen={chosen} onChoose={choose} />;
}

function tabsOf(task: TaskDetailBody): readonly Tab[] {
  const { args, kwargs, options, log, progress, result, timeline } = task;
  const words = wordsFor(task.sources, task.source);
  const cut = new Set(task.truncated);
  const valueTab = (id: string, title: string, text: string | null, field: string): readonly Tab[] =>
    text === null
      ? []
      : [{ id, title, content: () => <ValueBlock label={title} text={text} isCut={cut.has(field)} /> }];
  return [
    ...valueTab('args', words.args, isEmpty(args) ? null : args, 'args'),
    ...valueTab('kwargs', words.kwargs, isEmpty(kwargs) ? null : kwargs, 'kwargs'),
    // BullMQ's options are also its keyword arguments.
    ...valueTab('options', 'Options', options === kwargs ? null : options, 'options'),
    ...valueTab('progress', 'Progress', progress?.text ?? null, 'progress'),
    ...(log === null || log.lines.length === 0
      ? []
      : [{ id: 'log', title: 'Log', content: () => <JobLog log={log} /> }]),
    ...valueTab('result', 'Result', result, 'result'),
    { id: 'timeline', title: 'Timeline', content: () => <Timeline entries={timeline} /> },
  ];
}

/** The end of a job's log. */
function JobLog({ log }: { readonly log: TaskLogBody }) {
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

/** Every observed change, with the exception of each attempt. */
function Timeline({ entries }: { readonly entries: readonly TimelineEntryBody[] }) {
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
