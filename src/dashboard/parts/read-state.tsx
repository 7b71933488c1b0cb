import { MonitorClientError, type SourceBody } from '../../client.ts';
import type { Resource } from '../live/use-resource.ts';
import { Sources } from './age.tsx';
import { Loading, Problem } from './problem.tsx';

/**
 * The state shown above the data of a view: that it could not be read, which sources are not up to date, or that it is
 * loading.
 */
export function ReadState(props: {
  /** The data that is read, as in "Could not read tasks". */
  readonly what: string;
  readonly of: Resource<{ readonly sources?: readonly SourceBody[] }>;
}) {
  const { what, of } = props;
  const { data, error, reload } = of;
  // If the monitor does not answer, the page itself says that the shown data is old.
  const isSaid = data !== null && error instanceof MonitorClientError && error.status === null;
  return (
    <>
      {error !== null && !isSaid && <Problem what={what} error={error} retry={reload} />}
      <Sources sources={data?.sources} />
      {data === null && error === null && <Loading />}
    </>
  );
}
