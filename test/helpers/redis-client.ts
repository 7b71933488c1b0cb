/** Clients of node-redis for tests, which make very many of them. */
import { createClient as createFirst } from 'redis';

const templates = new Map<unknown, ReturnType<typeof createFirst>>();

/**
 * Makes a client as `createClient` of the package does. That one builds a class with hundreds of commands for each
 * new set of options, which takes 40 ms of CPU; these share one class for each version of the protocol.
 *
 * By default node-redis rejects a command that it could not write within five seconds. On a busy machine that fails
 * tests half-way, and becomes an unhandled rejection if the command is not awaited.
 */
export const createClient = ((options = {}) => {
  const { RESP, commandOptions } = options;
  const template = templates.get(RESP) ?? createFirst(RESP === undefined ? {} : { RESP });
  templates.set(RESP, template as ReturnType<typeof createFirst>);
  const unlimited = { ...options, commandOptions: { timeout: undefined, ...commandOptions } };
  return template.duplicate(unlimited as object);
}) as typeof createFirst;
