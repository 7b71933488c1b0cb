/** Hints about what the Redis user may not do, and about a broker that is not Redis. */
import {
  escapeGlob,
  eventSubscriptions,
  resultSubscription,
  type Subscription,
} from '../brokers/redis/channels.ts';
import { controlAddress } from '../brokers/redis/control-address.ts';
import type { CelerySettings } from '../settings.ts';
import type { AccessPlace } from './facts.ts';
import type { Hint, HintCode, HintComponent } from './hint.ts';
import { shown } from './hint.ts';
import type { HintInput } from './input.ts';

/** Hints about the reach of this source. Evidence: Redis has answered NOPERM, or the options alone. */
export function accessHints(input: HintInput): Hint[] {
  return [...foreignBroker(input), ...subscriptionHints(input), ...commandHints(input)];
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
        `The broker is ${shown(foreignBroker)}, which is not read: events, queues and workers are not shown, ` +
        `only what results tell. Only Redis is read: ${line}.`,
      line,
    },
  ];
}

/** `ACL SETUSER` with these rules added. */
export function aclLine(rules: readonly string[]): string {
  return `ACL SETUSER <user> ${rules.map(aclWord).join(' ')}`;
}

/** As redis-cli takes it. */
function aclWord(rule: string): string {
  return /[\s"']/.test(rule) ? `"${rule.replace(/["\\]/g, '\\$&')}"` : rule;
}

/** The channel rule of a subscription: of a pattern Redis wants the very same text. */
function channelRule({ kind, name }: Subscription): string {
  return `&${kind === 'pattern' ? name : escapeGlob(name)}`;
}

function subscriptionLine(subscriptions: readonly Subscription[], database: number): string {
  const commands = subscriptions.map(({ kind }) => (kind === 'pattern' ? '+psubscribe' : '+subscribe'));
  const select = database === 0 ? [] : ['+select'];
  return aclLine(['+ping', ...select, ...new Set(commands), ...subscriptions.map(channelRule)]);
}

function subscriptionHints({ options, broker, backend }: HintInput): Hint[] {
  const hints: Hint[] = [];
  const { settings } = options;
  if (options.broker !== null && broker?.problem?.code === 'NOPERM') {
    const { database } = options.broker;
    const line = subscriptionLine(eventSubscriptions(settings, database), database);
    const sentence = `This Redis user may not subscribe to Celery's events. Run ${line}`;
    hints.push({ code: 'acl_events', component: 'broker', sentence, line });
  }
  if (options.backend !== null && backend?.problem?.code === 'NOPERM') {
    const line = subscriptionLine([resultSubscription(settings)], options.backend.database);
    const sentence = `This Redis user may not subscribe to what the result backend publishes. Run ${line}`;
    hints.push({ code: 'acl_result_channel', component: 'backend', sentence, line });
  }
  return hints;
}

/** Redis before 7 knows no `%R~`, and needs `~*`. */
const READ = ['%R~*', '+@read', '-keys'];

interface PlaceHint {
  readonly code: HintCode;
  readonly component: HintComponent;
  readonly what: string;
  readonly rules: (settings: CelerySettings, database: number) => readonly string[];
}

const PLACES: Readonly<Record<AccessPlace, PlaceHint>> = {
  results: {
    code: 'acl_results',
    component: 'backend',
    what: 'read stored results, so what ended before this monitor started is not shown',
    rules: () => READ,
  },
  queues: {
    code: 'acl_queues',
    component: 'broker',
    what: 'read the queues, so waiting tasks are not shown',
    rules: () => READ,
  },
  schedules: {
    code: 'acl_schedules',
    component: 'broker',
    what: 'read the keys of redbeat, so its schedules are not shown',
    rules: () => READ,
  },
  control: {
    code: 'acl_control',
    component: 'broker',
    what: 'ask workers, so their pool, queues and registered tasks are not shown',
    rules: controlRules,
  },
};

function commandHints({ options, facts }: HintInput): Hint[] {
  return (Object.keys(PLACES) as AccessPlace[])
    .filter((place) => facts.problems[place]?.code === 'NOPERM')
    .map((place) => {
      const { code, component, what, rules } = PLACES[place];
      const line = aclLine(rules(options.settings, options.broker?.database ?? 0));
      return { code, component, sentence: `This Redis user may not ${what}. Run ${line}`, line };
    });
}

/** What a question to workers needs: to publish it, and a list of its own for the replies. */
function controlRules(settings: CelerySettings, database: number): string[] {
  const { bindingKey, replyKey, channels } = controlAddress(settings, database);
  const prefix = settings.broker_transport_options?.global_keyprefix ?? '';
  return [
    `~${escapeGlob(bindingKey)}`,
    `~${escapeGlob(prefix)}${replyKey('*').slice(prefix.length)}`,
    ...['+sadd', '+srem', '+del', '+brpop', '+sscan'],
    // In brackets it may publish there alone, and not also where it may subscribe.
    `(+publish ${channels.map((channel) => `&${escapeGlob(channel)}`).join(' ')})`,
  ];
}
