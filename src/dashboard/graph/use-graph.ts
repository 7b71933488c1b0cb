import { useEffect, useRef, useState } from 'preact/hooks';
import type { GraphState } from '../../client.ts';
import { client, isRefusal } from '../live/connection.ts';
import { isPaused } from '../live/pace.ts';
import { useStore } from '../store.ts';

/** Result of {@link useGraph}. */
export interface LiveGraph {
  readonly graph: GraphState | null;
  readonly error: unknown;
  readonly at: number | null;
}

const LIMIT = 10_000;
const RESTART_MS = 5_000;

/** The workflow of a task, kept up to date while the tab is visible. */
export function useGraph(id: string): LiveGraph {
  const [held, setHeld] = useState<LiveGraph>({ graph: null, error: null, at: null });

  useEffect(() => {
    let controller: AbortController | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const failed = (error: unknown): void =>
      setHeld((before) => (isRefusal(error) ? { graph: null, error, at: null } : { ...before, error }));

    async function follow(signal: AbortSignal): Promise<void> {
      try {
        for await (const graph of client.watchGraph(id, { limit: LIMIT }, { signal, onRetry: failed })) {
          setHeld({ graph, error: null, at: Date.now() });
        }
      } catch (error) {
        if (signal.aborted) return;
        failed(error);
        // The task may still appear, or the reader may be granted access: try again later.
        timer = setTimeout(() => void follow(signal), RESTART_MS);
      }
    }

    function attend(): void {
      clearTimeout(timer);
      if (document.hidden) {
        controller?.abort();
        controller = null;
      } else if (controller === null) {
        controller = new AbortController();
        void follow(controller.signal);
      }
    }

    document.addEventListener('visibilitychange', attend);
    attend();
    return () => {
      clearTimeout(timer);
      controller?.abort();
      document.removeEventListener('visibilitychange', attend);
    };
  }, [id]);
  const shown = useRef(held);
  const isStill = useStore(isPaused) && shown.current.graph !== null && held.graph !== null;
  if (!isStill) shown.current = held;
  return shown.current;
}
