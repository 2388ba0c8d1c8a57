import { Check } from 'lucide-react'
import { type ReactNode, useContext } from 'react'
import { PrivacyLink, TermsLink } from '../../shell/LegalLinks.tsx'
import { Logo } from '../../shell/Logo.tsx'
import result from '../Result.module.css'
import { InstanceName, Title } from '../Title.tsx'
import styles from './AuthLayout.module.css'

/** Layout of public pages: the form on the left, a description of the product on the right. On phones they are stacked. */
export function AuthLayout({ children }: { children: ReactNode }) {
  const instance = useContext(InstanceName)
  return (
    <main id="main" className={styles.layout}>
      <section className={styles.account} aria-label="Account">
        <div className={`wrap ${styles.brand}`}>
          <Logo named />
          {instance && <span className={`break-anywhere ${styles.instance}`}>{instance}</span>}
        </div>
        <div className={styles.content}>{children}</div>
        <p className={`wrap ${styles.legal}`}>
          <TermsLink />
          <PrivacyLink />
        </p>
      </section>
      <section className={styles.about} aria-label="About">
        <TickField />
        <div className={styles.text}>
          <h2>Composable infrastructure for connected devices.</h2>
          <ul>
            {POINTS.map(point => (
              <li key={point}>
                <Check className="icon" aria-hidden />
                {point}
              </li>
            ))}
          </ul>
          <p>Beta. Evaluation accounts are free, for evaluation only, and may be terminated at any time.</p>
        </div>
      </section>
    </main>
  )
}

const POINTS = [
  'See every device: its connections, certificates and properties.',
  'Enroll with deployment tokens, approve what connects.',
  'Version software packages on storage you own.',
]

/** The heading of a public form, with one line of text below it. */
export function AuthHead({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <Title page={title} />
      <h1 tabIndex={-1} className={result.title}>
        {title}
      </h1>
      <p className={styles.lede}>{children}</p>
    </div>
  )
}

/** A line of a public form with a field at its start and a link at its end. */
export function AuthLine({ children }: { children: ReactNode }) {
  return <div className={`row ${styles.line}`}>{children}</div>
}

const COLUMNS = 61
const ROWS = 11
const STEP_X = 14
const STEP_Y = 62

/** Decorative rows of vertical marks, one for each device of an imaginary large fleet. */
function TickField() {
  return (
    <svg
      className={styles.ticks}
      viewBox="0 0 840 1000"
      preserveAspectRatio="xMidYMin slice"
      aria-hidden="true"
    >
      {Object.entries(TICK_PATHS).map(([kind, path]) => (
        <path key={kind} d={path} {...LOOK[kind as TickKind]} />
      ))}
    </svg>
  )
}

type TickKind = 'dim' | 'mid' | 'lit' | 'off' | 'ok' | 'warn'

const LOOK: Record<TickKind, { fill?: string; opacity: number }> = {
  dim: { opacity: 0.13 },
  mid: { opacity: 0.2 },
  lit: { opacity: 0.3 },
  off: { fill: 'var(--ink-off)', opacity: 0.34 },
  ok: { fill: 'var(--ink-ok)', opacity: 0.9 },
  warn: { fill: 'var(--ink-warn)', opacity: 0.9 },
}

const TICK_PATHS = drawTicks()

/** Returns one SVG path for each kind of mark. The random numbers have a fixed seed, so the picture is the same at each visit. */
function drawTicks(): Record<TickKind, string> {
  const paths: Record<TickKind, string> = { dim: '', mid: '', lit: '', off: '', ok: '', warn: '' }
  let seed = 7
  for (let row = 0; row < ROWS; row++) {
    for (let column = 0; column < COLUMNS; column++) {
      seed = (seed * 16807) % 2147483647
      const kind = tickKind(seed / 2147483647, Math.sin(column / 5 + row * 1.7) + Math.sin(column / 13 - row))
      const height = kind === 'off' ? 11 : 40
      paths[kind] += `M${3 + column * STEP_X} ${58 + row * STEP_Y - height}h4v${height}h-4z`
    }
  }
  return paths
}

function tickKind(draw: number, wave: number): TickKind {
  if (draw < 0.035) return 'ok'
  if (draw < 0.042) return 'warn'
  if (draw < 0.09) return 'off'
  if (wave > 0.7) return 'lit'
  return wave > -0.5 ? 'mid' : 'dim'
}
