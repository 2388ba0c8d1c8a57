import type { ActionOutput } from '@muster/actions/client'
import { Scale, X } from 'lucide-react'
import { useCommand } from '../../api/queries.ts'
import { confirmed } from '../../lib/app/confirm.ts'
import { counted, formatDuration } from '../../lib/app/format.ts'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'

const WARNING =
  'The nodes with most devices release their surplus, at most 1 % of their devices a minute. Devices with a published Nexigon agent stay away for about 60 seconds. Rebalance now?'

/** Button that starts or ends a rebalance of devices between nodes. Not shown if there is only one node. */
export function RebalanceButton({ nodes }: { nodes: ActionOutput<'cluster_GetDetails'>['nodes'] }) {
  const invalidates = ['cluster_GetDetails'] as const
  const start = useCommand('cluster_StartRebalance', { invalidates })
  const cancel = useCommand('cluster_CancelRebalance', { invalidates })

  async function rebalance() {
    try {
      await confirmed(WARNING)
      const { result, deviceCount, lastsSecs } = await start.mutateAsync({})
      toast(
        result === 'Balanced'
          ? 'No node has a surplus of devices.'
          : `${counted(deviceCount, 'device')} will move within ${formatDuration(lastsSecs)}.`,
      )
    } catch (error) {
      toastError('Could not rebalance the devices', error)
    }
  }

  async function end() {
    try {
      await cancel.mutateAsync({})
      toast('Rebalance ended.')
    } catch (error) {
      toastError('Could not end the rebalance', error)
    }
  }

  if (nodes.some(({ release }) => release))
    return (
      <Button icon={X} busy={cancel.isPending} onClick={() => void end()}>
        End Rebalance
      </Button>
    )
  if (nodes.length < 2) return null
  return (
    <Button icon={Scale} busy={start.isPending} onClick={() => void rebalance()}>
      Rebalance
    </Button>
  )
}
