/** The component `findings`: the findings in all sources, and the status of the rules. */
import { type Evaluation, evaluate } from '../findings/evaluate.ts';
import type { SourceSituation } from '../findings/finding.ts';
import { type Monitor, oncePerMonitor } from '../http/monitor.ts';
import { scheduler } from '../scheduler.ts';
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
}

/**
 * The reader of a monitor's findings. The rules run in the scheduler, once in several seconds however many requests
 * there are.
 */
export const findingsOf = oncePerMonitor((monitor): (() => Promise<Findings>) => {
  const sources = [...partsByName(monitor.sources)];
  const firstFound = new Map<string, number>();

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
          onError: (error, { name }) =>
            monitor.report(error, { code: 'source_invalid', source: name, call: 'getActivity' }),
        },
        firstFound,
      ),
    );
    return { evaluation, component: bodyOf(monitor, evaluation), situations };
  }

  return shareCalls(look, FRESH_MS);
});

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
