/** Hints about rights that the user of a broker or backend lacks, and about a broker that is read-only or not read. */
import type { Hint } from '../hint.ts';
import { shown } from '../hint.ts';
import type { HintInput } from './input.ts';

/** Evidence: the answer NOPERM, or the options alone. */
export function accessHints(input: HintInput): Hint[] {
  return [...readOnlyBroker(input), ...foreignBroker(input), ...denied(input)];
}

function readOnlyBroker({ problems, options }: HintInput): Hint[] {
  if (problems.broker === null) return [];
  return [options.brokerHint?.('writes')].filter((hint) => hint !== null && hint !== undefined);
}

function foreignBroker({ options }: HintInput): Hint[] {
  const { foreignBroker } = options;
  if (foreignBroker === null) return [];
  const line = "broker_url = 'redis://…/0'";
  return [
    {
      code: 'foreign_broker',
      component: 'broker',
      sentence:
        `The broker is ${shown(foreignBroker)}, which this monitor cannot read: it shows results only, without ` +
        `events, queues and workers. It reads Redis and RabbitMQ: ${line}.`,
      line,
    },
  ];
}

function denied({ options, problems, broker, backend }: HintInput): Hint[] {
  const { brokerHint, backendHint } = options;
  const hints: (Hint | null | undefined)[] = [];
  if (broker?.problem?.code === 'NOPERM') hints.push(brokerHint?.('events'));
  if (backend?.problem?.code === 'NOPERM') hints.push(backendHint?.('published'));
  if (problems.results?.code === 'NOPERM') hints.push(backendHint?.('stored'));
  for (const access of ['queues', 'schedules', 'control'] as const) {
    if (problems[access]?.code === 'NOPERM') hints.push(brokerHint?.(access));
  }
  return hints.filter((hint) => hint !== null && hint !== undefined);
}
