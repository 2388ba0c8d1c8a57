import { Ban, Eye, Lock, Plus, RefreshCw, ShieldAlert, ShieldCheck, Trash2, X } from 'lucide-react'
import type { CSSProperties } from 'react'
import { Badge } from '../../ui/app/Badge.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Mark } from '../../ui/app/Mark.tsx'
import { Button } from '../../ui/Button.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import styles from './DesignSystemPage.module.css'

const COLORS = [
  ...['canvas', 'surface', 'surface-2', 'surface-hover', 'surface-raised', 'line', 'line-2', 'line-control'],
  ...['text', 'text-2', 'text-3', 'text-disabled'],
  ...['accent', 'accent-hover', 'on-accent', 'accent-text', 'accent-tint', 'accent-line', 'focus'],
  ...['ok', 'ok-text', 'ok-tint', 'ok-line', 'warn', 'warn-text', 'warn-tint', 'warn-line'],
  ...['bad', 'bad-text', 'bad-tint', 'bad-line', 'off'],
]

/** Samples of the colours, which are CSS variables. */
export function ColorSamples() {
  return (
    <div className={styles.colours}>
      {COLORS.map(name => (
        <div key={name}>
          <i style={{ '--c': `var(--${name})` } as CSSProperties} />
          <span>{name}</span>
        </div>
      ))}
    </div>
  )
}

/** Samples of the text styles with their font size and line height in pixels. */
export function TypeSamples() {
  return (
    <div className="stack">
      <p className={styles.display}>Display 28/34: Log in</p>
      <p className={styles.pageTitle}>Page 22/28: Harbor crane gateways</p>
      <h2>Section 15/22: System Info</h2>
      <h3>Sub 13/20: Network interfaces</h3>
      <p>Body 14/20: Certificates wait until someone accepts them.</p>
      <p className={`secondary ${styles.small}`}>Small 13/20: secondary copy and dense tables</p>
      <p className={`muted ${styles.meta}`}>Meta 12/16: labels, column heads, axis</p>
      <p className="mono">Mono 12/20: d_1J8ZoiK5QmVt3xYpRw7HcN · b8:27:eb:4a:10:7f · 2.14.1</p>
    </div>
  )
}

/** Buttons in every variant, size and state. */
export function ButtonSamples() {
  return (
    <div className="stack">
      <div className="wrap">
        <Button variant="primary" icon={Plus}>
          Create Project
        </Button>
        <Button>Secondary</Button>
        <Button variant="ghost">Ghost</Button>
        <Button variant="danger" icon={Trash2}>
          Delete Device
        </Button>
        <IconButton label="Refresh" icon={RefreshCw} />
        <IconButton label="Close" icon={X} />
        <LinkButton to="/design-system">Link</LinkButton>
      </div>
      <div className="wrap">
        <Button variant="primary" busy busyLabel="Creating…">
          Create Project
        </Button>
        <Button busy busyLabel="Saving…">
          Save
        </Button>
        <Button variant="primary" disabled>
          Disabled
        </Button>
        <Button disabled>Disabled</Button>
        <Button variant="danger" disabled>
          Disabled
        </Button>
      </div>
      <div className="wrap">
        <Button size="sm">Small 28</Button>
        <Button>Default 32</Button>
        <Button size="lg">Large 40</Button>
      </div>
    </div>
  )
}

/** Samples of `Mark`, a state as a small shape with a word, and of `Badge`, a state as a coloured label. */
export function BadgeSamples() {
  return (
    <div className="stack">
      <div className="wrap">
        <Mark state="on">Connected</Mark>
        <Mark state="off">Disconnected</Mark>
        <Mark state="pending">Pending</Mark>
      </div>
      <div className="wrap">
        <Badge tone="warn" icon={ShieldAlert}>
          Pending
        </Badge>
        <Badge tone="ok" icon={ShieldCheck}>
          Active
        </Badge>
        <Badge tone="bad" icon={X}>
          Rejected
        </Badge>
        <Badge icon={Ban}>Revoked</Badge>
        <Badge tone="ok" caps>
          COMPLETED
        </Badge>
        <Badge tone="bad" caps>
          FAILED
        </Badge>
        <Badge tone="info" caps>
          DOWNLOADING
        </Badge>
        <Badge>Member</Badge>
        <Badge tone="info">Admin</Badge>
        <Badge icon={Lock} locked>
          v1.4.0
        </Badge>
        <Badge icon={Eye}>Public</Badge>
        <Badge icon={Lock}>Private</Badge>
      </div>
    </div>
  )
}
