import { useParams } from '@tanstack/react-router'
import { Bookmark } from 'lucide-react'
import { useActionState } from '../../../api/queries.ts'
import { viewsInput } from '../../../pages/devices/shared/views-input.ts'
import type { OptionGroup } from './option.ts'

/** Saved views of the device list of the project on screen. */
export function useViews(): OptionGroup {
  const { organization, projectId } = useParams({ strict: false })
  const isHere = projectId !== undefined && organization !== undefined
  const { data } = useActionState('views_Query', viewsInput(projectId ?? ''), { enabled: isHere })
  return {
    label: 'Views',
    options: (data?.views ?? []).map(({ viewId, name, isShared }) => ({
      key: viewId,
      id: viewId,
      icon: Bookmark,
      label: name,
      to: `/org_${organization}/projects/${projectId}/devices`,
      search: { view: viewId },
      end: isShared ? 'Everyone in this project' : 'Only you',
    })),
  }
}
