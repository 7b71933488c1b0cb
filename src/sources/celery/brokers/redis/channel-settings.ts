/** Finds the settings that would make this source listen to a given channel. */

import { quoted } from '../../hint.ts';
import type { CelerySettings, CeleryTransportOptions } from '../../settings.ts';
import { eventSubscriptions } from './channels.ts';

/** The settings that differ from those of this source. */
export interface ChannelSettings {
  /** The channel's name without the routing key. */
  readonly name: string;
  /** The broker's database that it names. */
  readonly database: number;
  /** The settings to write, as text of JavaScript; `null` when none differs. */
  readonly settings: string | null;
}

/** The routing key of an event of Celery's own: its type with dots. */
const ROUTED = /^(.*)\/(?:worker|task)\.[^/]*$/s;
/** With the default `fanout_prefix`. */
const NUMBERED = /^(.*)\/(\d{1,6}|\{db\})\.([^/]+)$/s;
/** Longest channel of Celery, in characters. */
const LONGEST = 300;

/**
 * @param channel a channel with events
 * @param keyPrefixes the prefixes of the broker's keys, to distinguish `global_keyprefix` from `fanout_prefix`
 * @returns `null` if no setting fits, or the current settings do
 */
export function settingsForChannel(
  channel: string,
  present: CelerySettings,
  database: number,
  keyPrefixes: readonly string[],
): ChannelSettings | null {
  if (channel.length > LONGEST || hears(present, database, channel)) return null;
  const routed = ROUTED.exec(channel)?.[1];
  const name = routed ?? channel;
  const wanted = wantedOptions(name, present, database, keyPrefixes);
  const options: CeleryTransportOptions = { ...wanted.options, fanout_patterns: routed !== undefined };
  const settings: CelerySettings = {
    ...present,
    event_exchange: wanted.exchange,
    broker_transport_options: { ...present.broker_transport_options, ...options },
  };
  if (!hears(settings, wanted.database, channel)) return null;
  return { name, database: wanted.database, settings: difference(present, wanted.exchange, options) };
}

/** Whether a source with these settings listens on the channel. */
function hears(settings: CelerySettings, database: number, channel: string): boolean {
  return eventSubscriptions(settings, database).some(({ kind, name }) => {
    if (kind === 'channel') return name === channel;
    const literal = name.slice(0, -1).replace(/\\(.)/gs, '$1');
    return channel.startsWith(literal);
  });
}

interface Wanted {
  readonly database: number;
  readonly exchange: string;
  readonly options: CeleryTransportOptions;
}

function wantedOptions(
  name: string,
  present: CelerySettings,
  database: number,
  keyPrefixes: readonly string[],
): Wanted {
  const [, prefix = '', number = '', exchange = ''] = NUMBERED.exec(name) ?? [];
  if (number === '{db}') {
    // kombu before 5.4 behind Sentinel, which only `master_name` shows.
    const options = { global_keyprefix: prefix, fanout_prefix: true, master_name: '<its name>' };
    return { database, exchange, options };
  }
  if (number !== '') {
    const options = { global_keyprefix: prefix, fanout_prefix: true };
    return { database: Number(number), exchange, options };
  }
  const known = present.event_exchange ?? 'celeryev';
  const rest = name.endsWith(known) ? name.slice(0, name.length - known.length) : '';
  const candidates = [present.broker_transport_options?.global_keyprefix ?? '', ...keyPrefixes];
  const keyPrefix = candidates
    .filter((candidate) => rest.startsWith(candidate))
    .reduce((longest, candidate) => (candidate.length > longest.length ? candidate : longest), '');
  return {
    database,
    exchange: name.endsWith(known) ? known : name,
    options: { global_keyprefix: keyPrefix, fanout_prefix: rest.slice(keyPrefix.length) || false },
  };
}

/** Only the settings that differ. */
function difference(
  present: CelerySettings,
  exchange: string,
  wanted: CeleryTransportOptions,
): string | null {
  const own = present.broker_transport_options ?? {};
  const options: string[] = [];
  if (wanted.global_keyprefix !== (own.global_keyprefix ?? '')) {
    options.push(`global_keyprefix: ${quoted(wanted.global_keyprefix ?? '')}`);
  }
  const { fanout_prefix: prefix = true } = own;
  if (wanted.fanout_prefix !== (prefix === '' ? false : prefix === '/{db}.' ? true : prefix)) {
    const value = wanted.fanout_prefix;
    options.push(`fanout_prefix: ${typeof value === 'string' ? quoted(value) : String(value)}`);
  }
  if (wanted.fanout_patterns !== (own.fanout_patterns ?? true)) {
    options.push(`fanout_patterns: ${String(wanted.fanout_patterns)}`);
  }
  if (wanted.master_name !== undefined && own.master_name === undefined) {
    options.push(`master_name: ${quoted(String(wanted.master_name))}`);
  }
  const parts: string[] = [];
  if (exchange !== (present.event_exchange ?? 'celeryev')) parts.push(`event_exchange: ${quoted(exchange)}`);
  if (options.length > 0) parts.push(`broker_transport_options: { ${options.join(', ')} }`);
  return parts.length === 0 ? null : `settings: { ${parts.join(', ')} }`;
}
