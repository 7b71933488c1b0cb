import type { TaskDetailBody } from '../../client.ts';
import { type Tab, Tabs } from '../parts/tabs.tsx';
import { ValueBlock } from '../parts/value-block.tsx';
import { currentRoute, go, linkHere } from '../route.ts';
import { useStore } from '../store.ts';
import { wordsFor } from '../text/words.ts';
import { JobLog } from './job-log.tsx';
import { Timeline } from './timeline.tsx';

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

/** Celery reports missing arguments as an empty value. */
const isEmpty = (text: string | null): boolean => text === '()' || text === '[]' || text === '{}';
