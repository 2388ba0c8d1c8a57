import { isLabelKey } from '@muster/predicates'
import { useActionState } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { useDebounced } from '../../../lib/app/use-debounced.ts'
import type { ComboOption } from '../../../ui/lazy/ComboBox.tsx'

/** Pause in typing, in milliseconds, after which keys and values are suggested. */
const TYPING_MS = 250
/** Number of values that are suggested. */
const MAX_VALUES = 50

/** Keys of labels that devices of the project have and that contain the text, as options with the number of their devices. */
export function useKeyOptions(projectId: string, text: string, isOn = true): ComboOption[] {
  const settled = useDebounced(text.trim(), TYPING_MS)
  const { data } = useActionState(
    'projects_QueryLabelKeys',
    { projectId, ...(settled && { text: settled }) },
    { enabled: isOn, keepPrevious: true },
  )
  return (data?.keys ?? []).map(one => optionOf(one.key, one.deviceCount))
}

/** Values of a label that devices of the project have and that contain the text, as options with the number of their devices. */
export function useValueOptions(projectId: string, key: string, text: string): ComboOption[] {
  const settled = useDebounced(key.trim(), TYPING_MS)
  const isKey = isLabelKey(settled)
  const { data } = useActionState(
    'projects_QueryLabelValues',
    { projectId, key: isKey ? settled : 'none', limit: MAX_VALUES },
    { enabled: isKey },
  )
  const part = text.trim().toLowerCase()
  return (data?.values ?? [])
    .filter(one => one.value.toLowerCase().includes(part))
    .map(one => optionOf(one.value, one.deviceCount))
}

function optionOf(value: string, deviceCount: number): ComboOption {
  return { value, label: value, detail: counted(deviceCount, 'device') }
}
