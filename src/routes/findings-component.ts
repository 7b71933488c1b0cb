/** The component `findings`: what the rules have found in all sources, and whether they could look. */
import { type Evaluation, evaluate } from '../findings/evaluate.ts';
import type { Monitor } from '../http/monitor.ts';
import { scheduler } from '../scheduler.ts';
import { shareCalls } from '../single-flight.ts';
import type { ComponentBody } from '../wire.ts';
import { partsByName, readSituation } from './situation.ts';

/** How long an evaluation is shared, in milliseconds. */
const FRESH_MS = 5_000;

/**
 * Creates the reader of the component. However many clients ask, the rules look once in some seconds, as work of the
 * scheduler.
 *
 * @param ownComponents components of the monitor itself that can be down, by key
 */
export function createFindingsComponent(
  monitor: Monitor,
  ownComponents: () => Promise<Readonly<Record<string, ComponentBody>>>,
): () => Promise<ComponentBody> {
  const sources = [...partsByName(monitor.sources)];
  const firstFound = new Map<string, number>();

  async function look(): Promise<ComponentBody> {
    const [own, ...situations] = await Promise.all([
      ownComponents(),
      ...sources.map(([name, parts]) => readSituation(monitor, name, parts)),
    ]);
    const evaluation = await scheduler.run(
      'findings',
      evaluate(
        {
          now: Date.now(),
          sources: situations,
          own,
          onError: (error, { name }) =>
            monitor.report(error, { code: 'source_invalid', source: name, call: 'getActivity' }),
        },
        firstFound,
      ),
    );
    return bodyOf(monitor, evaluation);
  }

  return shareCalls(look, FRESH_MS);
}

function bodyOf({ serializer }: Monitor, { findings, rules, at }: Evaluation): ComponentBody {
  return {
    name: 'findings',
    enabled: true,
    status: 'up',
    pid: null,
    url: null,
    config: null,
    findings: findings.map(serializer.finding),
    rules: rules.map(serializer.rule),
    checked_at: new Date(at).toISOString(),
  };
}

/** The component without the time at which the rules looked, for the ETag. */
export function stableFindings(component: ComponentBody): object {
  return { ...component, checked_at: null };
}
