/** Tells the host once that a deployment is connected, and what has been heard of it by then. */
import { debugChannel } from '../../debug.ts';
import type { HistoryIndex } from '../../history/history.ts';
import type { Observer } from './hints/observer.ts';

const debug = debugChannel('celery');

/** A worker sends a heartbeat every 2 s, unless it is configured otherwise. */
const LISTEN_MS = 3_000;

/** What `onReady` of `celerySources` gets. */
export interface CeleryReady {
  /** The name of the source. */
  readonly source: string;
  /** Workers that were heard in the first seconds after connecting. */
  readonly workers: number;
  /**
   * Those of them that have reported a task. If this stays 0 while tasks run, start the workers with `-E`; the hints
   * of the components name them.
   */
  readonly reporting: number;
}

/** The option `onReady` of `celerySources`. */
export type OnReady = (summary: CeleryReady) => void;

/** What it needs to know. */
export interface ReadinessOptions {
  readonly name: string;
  readonly index: Pick<HistoryIndex, 'checkWorkers'>;
  readonly observer: Observer;
  readonly onReady: OnReady | null;
}

/** Waits for the first connection. */
export interface Readiness {
  /** To be called whenever everything is connected. */
  connected(): void;
  close(): void;
}

export function createReadiness({ name, index, observer, onReady }: ReadinessOptions): Readiness {
  let timer: NodeJS.Timeout | undefined;

  function tell(): void {
    const workers = index.checkWorkers().responding.length;
    const reporting = [...observer.facts().workers.values()].filter(
      ({ taskEvents }) => taskEvents > 0,
    ).length;
    debug('%s: connected; %d workers, %d of them have reported tasks', name, workers, reporting);
    try {
      onReady?.({ source: name, workers, reporting });
    } catch (error) {
      debug('%s: onReady has thrown: %O', name, error);
    }
  }

  return {
    connected() {
      timer ??= setTimeout(tell, LISTEN_MS).unref();
    },
    close: () => clearTimeout(timer),
  };
}
