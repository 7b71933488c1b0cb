/** Access rules of Redis (https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/). */

/** The command that adds these rules to a user, as it is typed into redis-cli. */
export function aclLine(rules: readonly string[]): string {
  return `ACL SETUSER <user> ${rules.map(quotedRule).join(' ')}`;
}

function quotedRule(rule: string): string {
  return /[\s"']/.test(rule) ? `"${rule.replace(/["\\]/g, '\\$&')}"` : rule;
}

/** A name as a Redis pattern that matches nothing else. */
export function escapeGlob(name: string): string {
  return name.replace(/[\\*?[\]]/g, '\\$&');
}

/** A subscription: PSUBSCRIBE for a pattern, SUBSCRIBE for a channel. */
export interface Subscription {
  readonly kind: 'pattern' | 'channel';
  /** As it is sent to Redis. */
  readonly name: string;
}

/** The command that allows a user to subscribe. A rule for a pattern must repeat the pattern literally. */
export function subscriptionAcl(subscriptions: readonly Subscription[], database: number): string {
  const commands = subscriptions.map(({ kind }) => (kind === 'pattern' ? '+psubscribe' : '+subscribe'));
  const select = database === 0 ? [] : ['+select'];
  const channels = subscriptions.map(({ kind, name }) => `&${kind === 'pattern' ? name : escapeGlob(name)}`);
  return aclLine(['+ping', ...select, ...new Set(commands), ...channels]);
}

/** Rules that allow every read. Redis before 7 does not know `%R~` and needs `~*`. */
export const READ_RULES = ['%R~*', '+@read', '-keys'];
