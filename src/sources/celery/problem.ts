/** What went wrong with a broker or a result backend. */
export interface Problem {
  /** Stable, for logs and rules, such as `ECONNREFUSED` or `NOPERM`. */
  readonly code: string;
  /** For people. Holds no address, user name or password. */
  readonly sentence: string;
  /** What the user may not do; absent unless the server refused a right. */
  readonly refused?: RefusedRight;
  /**
   * The rights to give to the user, in the words of the server (for Redis, rules of `ACL SETUSER`);
   * `null` or absent when something else is wrong.
   */
  readonly missingRights?: string | null;
}

/** A right that the server's user lacks. */
export interface RefusedRight {
  /** Whether the command itself is refused, or only its use on this key or channel. */
  readonly kind: 'command' | 'key' | 'channel';
  /** The command in lower case; `null` where the server does not name it. */
  readonly command: string | null;
}
