import { MAX_PINS } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { invoke } from '../../../../api/client.ts'
import { actionQuery, useActionState } from '../../../../api/queries.ts'
import { toast, toastError } from '../../../../ui/app/toast.ts'

const NO_PINS: readonly { name: string; label?: string | undefined }[] = []

/**
 * The properties that the person has pinned in a project, those that are pinned in the project for everyone, and a function that pins or
 * unpins a property for the person.
 */
export function usePins(projectId: string) {
  const queryClient = useQueryClient()
  const options = actionQuery('projects_GetPins', { projectId })
  const { data } = useActionState('projects_GetPins', { projectId })
  const pins = data?.properties ?? []

  async function toggle(name: string) {
    let isPinned = false
    try {
      // A click may come before the pins have loaded.
      const known = data ?? (await queryClient.ensureQueryData(options))
      const before = known.properties
      isPinned = before.includes(name)
      if (!isPinned && before.length >= MAX_PINS)
        return toast(`At most ${MAX_PINS} properties can be pinned.`)
      const properties = isPinned ? before.filter(pin => pin !== name) : [...before, name]
      // A refetch in flight would overwrite the new pins with the previous ones.
      await queryClient.cancelQueries({ queryKey: options.queryKey })
      queryClient.setQueryData(options.queryKey, { ...known, properties })
      await invoke('projects_SetPins', { projectId, properties })
    } catch (error) {
      toastError(`Could not ${isPinned ? 'unpin' : 'pin'} ${name}`, error)
      await queryClient.invalidateQueries({ queryKey: options.queryKey })
    }
  }
  return {
    pins,
    projectPins: data?.projectProperties ?? NO_PINS,
    toggle: (name: string) => void toggle(name),
  }
}
