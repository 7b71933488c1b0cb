/** The first of the tasks that wait, as a report: redacted, with texts that are cut, and of a bounded size. */
import type { TaskFacts } from '../../../history/history.ts';
import type { Task, TaskTextField } from '../../../model.ts';
import type { Steps } from '../../../scheduler.ts';
import type { WaitingMessage } from '../broker.ts';
import type { Waiting } from '../queues/waiting-tasks.ts';
import type { WaitingReport } from './reports.ts';

/** Most messages, most characters of all of them together (estimated), and of one text. */
const MOST_MESSAGES = 1_000;
const MOST_CHARACTERS = 500_000;
const LONGEST_TEXT = 2_048;
/** Approximate size of a message without its texts. */
const MESSAGE_CHARACTERS = 400;
const RELATION_CHARACTERS = 120;

/** Takes the messages that run next. */
export function* waitingReport(waiting: Waiting): Steps<WaitingReport> {
  const all = waiting.held();
  const known = (all ?? waiting.index()).messages;
  const messages: WaitingMessage[] = [];
  let isRedacted = false;
  let characters = 0;
  for (const message of known.slice(0, MOST_MESSAGES)) {
    const task = waiting.rows.row(message);
    if (task === null) continue;
    isRedacted = task.redacted === true;
    const kept = keptMessage(message, task);
    characters += sizeOf(kept);
    if (characters > MOST_CHARACTERS) break;
    messages.push(kept);
    yield;
  }
  return { messages, isComplete: all !== null && messages.length === known.length, isRedacted };
}

function keptMessage(message: WaitingMessage, task: Task): WaitingMessage {
  const args = cut(task.args);
  const kwargs = cut(task.kwargs);
  const truncated = new Set<TaskTextField>(message.facts?.truncated ?? []);
  if (args.isCut) truncated.add('args');
  if (kwargs.isCut) truncated.add('kwargs');
  const facts = { ...message.facts, id: task.id, args: args.text, kwargs: kwargs.text, stamps: task.stamps };
  return { ...message, facts: { ...facts, truncated: [...truncated] } as TaskFacts };
}

function cut(value: unknown): { readonly text: string | null; readonly isCut: boolean } {
  if (typeof value !== 'string') return { text: null, isCut: false };
  const isCut = value.length > LONGEST_TEXT;
  return { text: isCut ? value.slice(0, LONGEST_TEXT) : value, isCut };
}

function sizeOf({ facts, relations }: WaitingMessage): number {
  const texts = (facts?.args?.length ?? 0) + (facts?.kwargs?.length ?? 0);
  return MESSAGE_CHARACTERS + texts + relations.length * RELATION_CHARACTERS;
}
