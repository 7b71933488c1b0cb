import { aclLine, READ_RULES, subscriptionAcl } from '../../../../redis/acl.ts';
import type { Hint } from '../../hint.ts';
import type { BackendAccess } from '../../result-backend.ts';
import type { CelerySettings } from '../../settings.ts';
import { resultSubscription } from './result-channels.ts';

/** The hint for a Redis user who lacks a right, with the command that grants it. */
export function deniedHint(access: BackendAccess, settings: CelerySettings, database: number): Hint {
  const isPublished = access === 'published';
  const line = isPublished ? subscriptionAcl([resultSubscription(settings)], database) : aclLine(READ_RULES);
  const what = isPublished
    ? 'subscribe to what the result backend publishes'
    : 'read stored results, so tasks that ended before this monitor started are not shown';
  return {
    code: 'missing_right',
    component: 'backend',
    sentence: `This Redis user may not ${what}. Run ${line}`,
  };
}
