/** Hints from what was found elsewhere, because nothing comes here. */
import { eventSubscriptions, resultSubscription } from '../brokers/redis/channels.ts';
import { aclLine } from './access-rules.ts';
import { settingsForChannel } from './channel-settings.ts';
import type { HintOptions } from './facts.ts';
import { EVENT_PATTERNS, type EventFindings } from './findings.ts';
import { type Hint, listed, quoted, withDatabase } from './hint.ts';
import { type HintInput, resultsSeen } from './input.ts';

/** Alternatives that a sentence names. */
const MOST = 3;

/** Hints about other channels, databases and prefixes. Each is gone as soon as something is heard here. */
export function probeHints(input: HintInput): Hint[] {
  return [...otherEvents(input), ...otherResults(input), ...otherResultDatabase(input)];
}

function otherEvents({ options, findings, facts }: HintInput): Hint[] {
  const { events } = findings;
  const { broker } = options;
  if (events === null || broker === null || facts.events > 0) return [];
  const hint =
    otherChannel(options, broker, events) ??
    otherKeys(options, broker, events) ??
    forbidden(options, broker, events);
  return hint === null ? [] : [hint];
}

type Broker = NonNullable<HintOptions['broker']>;

/** Evidence: events were heard on channels that are not ours, and none on ours since we were connected. */
function otherChannel({ settings }: HintOptions, broker: Broker, found: EventFindings): Hint | null {
  const lines = new Map<string, string>();
  for (const channel of found.channels) {
    const wanted = settingsForChannel(channel, settings, broker.database, found.prefixes);
    if (wanted === null) continue;
    const { database } = wanted;
    const broker_ = database === broker.database ? null : withDatabase('broker', broker, database);
    lines.set(wanted.name, [broker_, wanted.settings].filter((part) => part !== null).join(', '));
  }
  const names = [...lines.keys()].toSorted().slice(0, MOST);
  const [line] = names.map((name) => lines.get(name));
  if (line === undefined) return null;
  return {
    code: 'wrong_channel',
    component: 'broker',
    sentence:
      `Events are published on ${listed(names)}, and none on ${ourChannels(settings, broker)}, where this source ` +
      `listens. If they are of this app, write ${names.map((name) => lines.get(name)).join(' or ')}.`,
    line,
  };
}

function ourChannels(settings: HintOptions['settings'], { database }: Broker): string {
  const plain = eventSubscriptions(
    {
      ...settings,
      broker_transport_options: { ...settings.broker_transport_options, fanout_patterns: false },
    },
    database,
  );
  return listed(plain.map(({ name }) => name));
}

/**
 * Evidence: what brokers keep (`_kombu.binding.*`) is not in our database under our prefix, but under
 * another one, or in another database.
 */
function otherKeys({ settings }: HintOptions, broker: Broker, found: EventFindings): Hint | null {
  if (found.isAtHome) return null;
  const here = `Database ${broker.database} has no queues of Celery`;
  const prefixes = found.prefixes.slice(0, MOST);
  const own = settings.broker_transport_options?.global_keyprefix ?? '';
  const under = own === '' ? ' without a prefix' : ` under the prefix ${quoted(own)}`;
  const [prefix] = prefixes;
  if (prefix !== undefined) {
    const lines = prefixes.map(
      (other) => `settings: { broker_transport_options: { global_keyprefix: ${quoted(other)} } }`,
    );
    return {
      code: 'wrong_channel',
      component: 'broker',
      sentence: `${here}${under}, but has some under ${prefixes.map(quoted).join(', ')}. Write ${lines.join(' or ')}.`,
      line: lines[0] ?? '',
    };
  }
  const lines = found.databases.slice(0, MOST).map((database) => withDatabase('broker', broker, database));
  const [line] = lines;
  if (line === undefined) return null;
  return {
    code: 'wrong_database',
    component: 'broker',
    sentence: `${here}${own === '' ? '' : under}, but ${databases(found.databases)}. Write ${lines.join(' or ')}.`,
    line,
  };
}

function databases(numbers: readonly number[]): string {
  return numbers.length === 1
    ? `database ${numbers[0]} has`
    : `databases ${listed(numbers.map(String))} have`;
}

/** Evidence: nothing is heard, nothing was found, and Redis answered NOPERM to listening more widely. */
function forbidden({ settings }: HintOptions, broker: Broker, found: EventFindings): Hint | null {
  if (!found.isForbidden || found.isAtHome) return null;
  const line = aclLine(EVENT_PATTERNS.map((pattern) => `&${pattern}`));
  return {
    code: 'acl_probe',
    component: 'broker',
    sentence:
      `Nothing is heard on ${ourChannels(settings, broker)}, and this Redis user may not listen elsewhere to find ` +
      `out which prefix and database are right. Compare them with the app's broker_url, or run ${line}`,
    line,
  };
}

/** Evidence: results under other prefixes were heard or found, and none under ours. */
function otherResults({ options, findings, facts }: HintInput): Hint[] {
  const found = findings.results;
  if (options.backend === null || found === null || found.isAtHome || resultsSeen(facts) > 0) return [];
  const prefixes = found.prefixes.slice(0, MOST);
  const lines = prefixes.map(
    (prefix) => `settings: { result_backend_transport_options: { global_keyprefix: ${quoted(prefix)} } }`,
  );
  const [line] = lines;
  if (line === undefined) return [];
  return [
    {
      code: 'wrong_result_prefix',
      component: 'backend',
      sentence:
        `Results are stored as ${listed(prefixes.map((prefix) => `${prefix}celery-task-meta-*`))}, and none as ` +
        `${resultSubscription(options.settings).prefix}*. If they are of this app, write ${lines.join(' or ')}.`,
      line,
    },
  ];
}

/** Evidence: a result that was heard is not stored in our database, but in another one. */
function otherResultDatabase({ options, findings }: HintInput): Hint[] {
  const { storedIn } = findings;
  if (options.backend === null || storedIn === null) return [];
  const line = withDatabase('backend', options.backend, storedIn);
  return [
    {
      code: 'wrong_result_database',
      component: 'backend',
      sentence: `Results are stored in database ${storedIn}, and this source reads database ${options.backend.database}. Write ${line}.`,
      line,
    },
  ];
}
