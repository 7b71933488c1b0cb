import { aclLine, escapeGlob, READ_RULES, subscriptionAcl } from '../../../../redis/acl.ts';
import type { BrokerAccess } from '../../broker.ts';
import type { Hint } from '../../hint.ts';
import type { CelerySettings } from '../../settings.ts';
import { eventSubscriptions } from './channels.ts';
import { controlAddress } from './pidbox.ts';

/** The hint for a Redis user who lacks a right, with the command that grants it. */
export function deniedHint(access: BrokerAccess, settings: CelerySettings, database: number): Hint {
  if (access === 'writes') return READ_ONLY;
  const { may, rules } = rightFor(access, settings, database);
  return {
    code: 'missing_right',
    component: 'broker',
    sentence: `This Redis user may not ${may}. Run ${rules}`,
  };
}

function rightFor(
  access: Exclude<BrokerAccess, 'writes'>,
  settings: CelerySettings,
  database: number,
): { readonly may: string; readonly rules: string } {
  const read = aclLine(READ_RULES);
  switch (access) {
    case 'events':
      return {
        may: "subscribe to Celery's events",
        rules: subscriptionAcl(eventSubscriptions(settings, database), database),
      };
    case 'queues':
      return { may: 'read the queues, so waiting tasks are not shown', rules: read };
    case 'schedules':
      return { may: 'read the keys of redbeat, so its schedules are not shown', rules: read };
    case 'control':
      return {
        may: 'send requests to workers, so their pool, queues and registered tasks are not shown',
        rules: aclLine(controlRules(settings, database)),
      };
  }
}

const READ_ONLY: Hint = {
  code: 'broker_read_only',
  component: 'broker',
  sentence:
    'The broker is a read-only replica: clients cannot send tasks, and workers cannot take them. Use the address of its ' +
    'master, or promote it, which discards data that it has not replicated yet: REPLICAOF NO ONE.',
};

/** Asking workers needs a channel to publish on, and a list that receives the replies. */
function controlRules(settings: CelerySettings, database: number): string[] {
  const { bindingKey, replyKey, channels } = controlAddress(settings, database);
  const prefix = settings.broker_transport_options?.global_keyprefix ?? '';
  return [
    `~${escapeGlob(bindingKey)}`,
    `~${escapeGlob(prefix)}${replyKey('*').slice(prefix.length)}`,
    ...['+sadd', '+srem', '+del', '+brpop', '+sscan', '+srandmember'],
    // The brackets allow PUBLISH on these channels only, and not on those that the user may subscribe to.
    `(+publish ${channels.map((channel) => `&${escapeGlob(channel)}`).join(' ')})`,
  ];
}
