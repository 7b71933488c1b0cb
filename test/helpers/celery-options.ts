import { deploymentEndpoints } from '../../src/sources/celery/brokers/redis/endpoints.ts';
import { resolveOptions as resolve } from '../../src/sources/celery/options.ts';

/** Checks options of `celerySources` as it does itself, with the Redis endpoints that they choose. */
export function resolveOptions(options: unknown) {
  const resolved = resolve(options);
  return { ...resolved, ...deploymentEndpoints(resolved.broker, resolved.backend, resolved.settings) };
}
