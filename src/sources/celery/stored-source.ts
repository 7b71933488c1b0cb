/** A Celery source whose history is kept in a store. */

import type { StoreEngine } from '../../history/store.ts';
import { createStoredHistory } from '../../history/stored/create-stored-history.ts';
import { type ClosableParts, valueLengthOf } from './celery-source.ts';
import { connectionsOf } from './connect.ts';
import { deploymentId } from './deployment-id.ts';
import type { LiveOptions } from './live.ts';
import type { ResolvedOptions } from './options.ts';
import { createLedSource } from './shared/shared-source.ts';

/** @throws TypeError that says what to write; it never contains a URL */
export function createStoredSource(options: ResolvedOptions, store: StoreEngine): ClosableParts {
  const { name, collect, retention, redactor, settings } = options;
  const connect = (): LiveOptions => {
    const { close, ...connections } = connectionsOf(options);
    return { ...options, ...connections, valueLength: valueLengthOf(retention), closeConnections: close };
  };
  // Wrong options throw here, even if this instance does not connect yet.
  const live = collect ? connect() : null;
  const history = createStoredHistory(
    { ...retention, redactor, eventless: live !== null && live.broker === null },
    {
      store,
      source: name,
      deployment: live === null ? null : deploymentId({ ...live, settings }),
      hearing: 'nothing',
      isReadOnly: !collect,
    },
  );
  const hasConsumers = live?.broker?.queues?.listsMessages === false;
  return createLedSource({ name, history, connect: collect ? connect : null, hasConsumers });
}
