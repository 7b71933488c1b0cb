/** The component `findings`: the findings in all sources, and the status of the rules. */
import { type AnswerQueues, createQueueAnswers, type QueueAnswer } from '../answers/queue-answers.ts';
import { type Evaluation, evaluate } from '../findings/evaluate.ts';
import type { SourceSituation } from '../findings/finding.ts';
import { type Monitor, oncePerMonitor } from '../http/monitor.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import { shareCalls } from '../single-flight.ts';
import type { ComponentBody } from '../wire.ts';
import { describeMetrics, ownComponent } from './own-components.ts';
import { partsByName, readSituation } from './situation.ts';

/** How long an evaluation is reused, in milliseconds. */
const FRESH_MS = 5_000;

/** The findings, for requests and for the host. */
export interface Findings {
  readonly evaluation: Evaluation;
  readonly component: ComponentBody;
  /** The data that the rules have judged. */
  readonly situations: readonly SourceSituation[];
  /** By source and queue. */
  readonly queues: ReadonlyMap<string, ReadonlyMap<string, QueueAnswer>>;
  /** Answers for the queues of a source that were read later. */
  readonly answerQueues: AnswerQueues;
}

/**
 * The reader of a monitor's findings. The rules run in the scheduler, once in several seconds however many requests
 * there are.
 */
export const findingsOf = oncePerMonitor((monitor): (() => Promise<Findings>) => {
  const sources = [...partsByName(monitor.sources)];
  const firstFound = new Map<string, number>();
  const reportActivity = (error: unknown, source: string): void =>
    monitor.report(error, { code: 'source_invalid', source, call: 'getActivity' });
  const answerQueues = createQueueAnswers(reportActivity);

  async function look(): Promise<Findings> {
    const [metrics, ...situations] = await Promise.all([
      describeMetrics(monitor),
      ...sources.map(([name, parts]) => readSituation(monitor, name, parts)),
    ]);
    const evaluation = await scheduler.run(
      'findings',
      evaluate(
        {
          now: Date.now(),
          sources: situations,
          own: { metrics },
          onError: (error, { name }) => reportActivity(error, name),
        },
        firstFound,
      ),
    );
    const queues = await scheduler.run('findings', answerAll(answerQueues, situations, evaluation.at));
    return { evaluation, component: bodyOf(monitor, evaluation), situations, queues, answerQueues };
  }

  return shareCalls(look, FRESH_MS);
});

function* answerAll(
  answerQueues: AnswerQueues,
  situations: readonly SourceSituation[],
  now: number,
): Steps<Findings['queues']> {
  const all = new Map<string, ReadonlyMap<string, QueueAnswer>>();
  for (const situation of situations) {
    all.set(situation.name, yield* answerQueues(situation.name, situation, now));
    yield;
  }
  return all;
}

function bodyOf({ serializer }: Monitor, { findings, rules, at }: Evaluation): ComponentBody {
  return ownComponent('findings', 'up', {
    findings: findings.map(serializer.finding),
    rules: rules.map(serializer.rule),
    checked_at: new Date(at).toISOString(),
  });
}

/** The component without the time of the evaluation, for the ETag. */
export function stableFindings(component: ComponentBody): object {
  return { ...component, checked_at: null };
}
