import type { ActionOutput } from '@muster/actions/client'
import { Scale, X } from 'lucide-react'
import { useState } from 'react'
import { useCommand } from '../../api/queries.ts'
import { counted, formatDuration } from '../../lib/app/format.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { Dialog, DialogBody, DialogFoot } from '../../ui/app/Dialog.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { CheckPanel } from '../../ui/lazy/CheckPanel.tsx'

/** Button that starts or ends a rebalance of devices between nodes. Not shown if there is only one node. */
export function RebalanceButton({ nodes }: { nodes: ActionOutput<'cluster_GetDetails'>['nodes'] }) {
  const [isAsking, setAsking] = useState(false)
  const cancel = useCommand('cluster_CancelRebalance', { invalidates: ['cluster_GetDetails'] })

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
    <>
      <Button icon={Scale} onClick={() => setAsking(true)}>
        Rebalance
      </Button>
      {isAsking && <RebalanceDialog onClose={() => setAsking(false)} />}
    </>
  )
}

/** Says what a rebalance does before it starts. */
function RebalanceDialog({ onClose }: { onClose: () => void }) {
  const [isFast, setFast] = useState(false)
  const start = useCommand('cluster_StartRebalance', { invalidates: ['cluster_GetDetails'] })

  async function rebalance() {
    try {
      const { result, deviceCount, lastsSecs } = await start.mutateAsync(isFast ? { fast: true } : {})
      toast(
        result === 'Balanced'
          ? 'No node has a surplus of devices.'
          : `${counted(deviceCount, 'device')} will move within ${formatDuration(lastsSecs)}.`,
      )
    } catch {
      return // The dialog shows the error.
    }
    onClose()
  }

  return (
    <Dialog title="Rebalance devices" busy={start.isPending} onClose={onClose}>
      <DialogBody>
        <ErrorAlert title="Could not rebalance the devices." error={start.error} />
        <p>
          The nodes with most devices release their surplus, at most 1 % of their devices a minute. Devices
          with a published Nexigon agent stay away for about 60 seconds.
        </p>
        <CheckPanel label="Fast" name="fast" checked={isFast} onChange={setFast}>
          20 % of the devices of a node a minute, but at least 250. This may end sessions of people who work
          on a device.
        </CheckPanel>
      </DialogBody>
      <DialogFoot>
        <Button disabled={start.isPending} onClick={onClose}>
          Cancel
        </Button>
        <Button
          variant="primary"
          busy={start.isPending}
          busyLabel="Starting…"
          onClick={() => void rebalance()}
        >
          Rebalance
        </Button>
      </DialogFoot>
    </Dialog>
  )
}
