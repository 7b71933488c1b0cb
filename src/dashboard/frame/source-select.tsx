import { sourceNames } from '../live/scope.ts';
import { currentRoute, go, linkHere } from '../route.ts';
import { useStore } from '../store.ts';

/** Chooses the source to show, if there are several. */
export function SourceSelect() {
  const names = useStore(sourceNames);
  const chosen = useStore(currentRoute).query.get('only') ?? '';
  const all = chosen === '' || names.includes(chosen) ? names : [...names, chosen];
  if (all.length < 2 && chosen === '') return null;
  return (
    <select
      aria-label="Source"
      value={chosen}
      onChange={(event) => go(linkHere({ only: event.currentTarget.value || null }))}
    >
      <option value="">All sources</option>
      {all.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
