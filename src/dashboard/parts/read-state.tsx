import { MonitorClientError, type SourceBody } from '../../client.ts';
import type { Resource } from '../live/use-resource.ts';
import { Sources } from './age.tsx';
import { Loading, Problem } from './problem.tsx';

/**
 * What stands above the data of a view: that it could not be read, which sources are not up to date, or that it is on
 * its way.
 */
export function ReadState(props: {
  /** What is read, as in "Could not read tasks". */
  readonly what: string;
  readonly of: Resource<{ readonly sources?: readonly SourceBody[] }>;
}) {
  const { what, of } = props;
  const { data, error, reload } = of;
  // Data that stays is told by the page to be old, where nobody answers at all.
  const isSaid = data !== null && error instanceof MonitorClientError && error.status === null;
  return (
    <>
      {error !== null && !isSaid && <Problem what={what} error={error} retry={reload} />}
      <Sources sources={data?.sources} />
      {data === null && error === null && <Loading />}
    </>
  );
}
