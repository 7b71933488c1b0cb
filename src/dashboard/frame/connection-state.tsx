/** The banner while the monitor does not answer, and the text that replaces a view that may not be shown. */
import type { ComponentChildren } from 'preact';
import { connection, isShut } from '../live/connection.ts';
import { Empty } from '../parts/problem.tsx';
import { ViewHead } from '../parts/view-head.tsx';
import { zone } from '../settings.ts';
import { useStore } from '../store.ts';
import { moment } from '../text/moments.ts';

/** The view, or why it may not be shown. It is then not mounted, so that none of its data can be read. */
export function Gate({ children }: { readonly children: ComponentChildren }) {
  const now = useStore(connection);
  if (!isShut(now)) return <>{children}</>;
  const isSignedOut = now.state === 'signed-out';
  return (
    <>
      <ViewHead title={isSignedOut ? 'Signed out' : 'Refused'} />
      <div role="alert">
        <Empty
          title={
            isSignedOut
              ? 'You are signed out. Sign in and this view comes back.'
              : 'You do not have access to this monitor. The app refused the request.'
          }
        >
          <button type="button" onClick={() => location.reload()}>
            {isSignedOut ? 'Sign in' : 'Try again'}
          </button>
        </Empty>
      </div>
    </>
  );
}

/** A banner across the page while the monitor does not answer. */
export function Lost() {
  const { state, answeredAt } = useStore(connection);
  const chosen = useStore(zone);
  if (state !== 'lost') return null;
  const since = answeredAt === null ? null : moment(new Date(answeredAt), chosen, Date.now());
  return (
    <div class="lost" role="alert">
      {since === null ? 'No answer yet.' : `No answer since ${since}. Figures are from then.`}
    </div>
  );
}
