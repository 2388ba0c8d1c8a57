import { useActionState } from '../../../api/queries.ts'
import { Segments } from '../../../ui/app/Segments.tsx'
import type { DeviceSearch } from '../shared/device-search.ts'
import { viewsInput } from '../shared/views-input.ts'
import { useViewCounts } from './use-view-counts.ts'
import { CLEARED } from './view-search.ts'

type ViewTabsProps = {
  projectId: string
  search: DeviceSearch
  onSearch: (next: { [Name in keyof DeviceSearch]?: string | undefined }) => void
}

/** Saved views of the row above the list, each with its number of devices. */
export function ViewTabs({ projectId, search, onSearch }: ViewTabsProps) {
  const views = useActionState('views_Query', viewsInput(projectId)).data?.views ?? []
  const inRow = views.filter(({ isInRow }) => isInRow)
  const counts = useViewCounts(projectId, inRow)
  return (
    <Segments
      label="Views"
      value={search.view ?? ''}
      uncounted="Not counted within 2 s."
      digits={3}
      options={inRow.map(({ viewId, name }) => ({ value: viewId, label: name, count: counts?.get(viewId) }))}
      onChange={view => onSearch({ ...CLEARED, view })}
    />
  )
}
