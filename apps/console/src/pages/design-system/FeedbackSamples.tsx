import { CircleAlert, Cpu, LogOut, Plus, RefreshCw, Settings } from 'lucide-react'
import { useState } from 'react'
import { Alert } from '../../ui/Alert.tsx'
import { Dialog, DialogBody, DialogFoot } from '../../ui/app/Dialog.tsx'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { LiveStamp } from '../../ui/app/LiveStamp.tsx'
import { Menu, MenuHead, MenuItem, MenuLine, MenuLink } from '../../ui/app/Menu.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { Spinner } from '../../ui/Spinner.tsx'
import { TextField } from '../../ui/TextField.tsx'
import styles from './DesignSystemPage.module.css'

/** Dialogs, menus and toasts. */
export function OverlaySamples() {
  const [isOpen, setOpen] = useState(false)
  const [name, setName] = useState('')
  return (
    <div className="wrap">
      <Button onClick={() => setOpen(true)}>Open dialog</Button>
      <Menu trigger={<Button>Open menu</Button>}>
        <MenuHead>
          <b>Mira Okafor</b>
          <span>mira@halden.example</span>
        </MenuHead>
        <MenuLine />
        <MenuLink icon={Settings} to="/design-system">
          Settings
        </MenuLink>
        <MenuItem icon={LogOut} onSelect={() => toast('Chosen.')}>
          Log Out
        </MenuItem>
      </Menu>
      <Button onClick={() => toast('Device renamed to edge-gateway-07.')}>Show success</Button>
      <Button
        onClick={() =>
          toastError(
            'Could not revoke certificate',
            new Error('The server answered 503. Nothing was changed.'),
          )
        }
      >
        Show failure
      </Button>
      {isOpen && (
        <Dialog title="New Token" dirty={name !== ''} onClose={() => setOpen(false)}>
          <DialogBody>
            <TextField label="Name" required value={name} onChange={setName} />
          </DialogBody>
          <DialogFoot>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button variant="primary" onClick={() => setOpen(false)}>
              Create Token
            </Button>
          </DialogFoot>
        </Dialog>
      )}
    </div>
  )
}

const LOADED_AT = Date.now()

/** Alerts, times of the last refresh, and the spinner. */
export function FeedbackSamples() {
  return (
    <div className="stack">
      <Alert tone="bad" title="Error">
        Invalid username or password!
      </Alert>
      <Alert tone="warn" title="1 certificate is waiting for approval." action={<a href="#layout">Review</a>}>
        First seen 5 hours ago.
      </Alert>
      <Alert tone="ok">Account Activated</Alert>
      <div className="wrap">
        <LiveStamp updatedAt={LOADED_AT} />
        <LiveStamp updatedAt={LOADED_AT} failedAt={LOADED_AT + 1} />
        <Spinner />
      </div>
    </div>
  )
}

/** Loading, empty and error states. */
export function StateSamples() {
  return (
    <div className={styles.pair}>
      <EmptyState
        icon={Cpu}
        title="No devices yet"
        action={
          <Button variant="primary" icon={Plus}>
            Connect a device
          </Button>
        }
      >
        Install the agent with a deployment token. The device appears here on its first connection.
      </EmptyState>
      <EmptyState
        icon={CircleAlert}
        tone="bad"
        title="Could not load devices"
        action={<Button icon={RefreshCw}>Try again</Button>}
      >
        The last answer is 4 minutes old.
      </EmptyState>
      <div className="sheet">
        <Skeleton label="Loading samples" rows={4} />
      </div>
    </div>
  )
}
