import { Link } from '@tanstack/react-router'
import { PRODUCT } from '../ui/Title.tsx'

/** The logo (three vertical bars) with the beta badge, a link to the start page. `named` adds the product's name. */
export function Logo({ named = false }: { named?: boolean }) {
  return (
    <Link
      className="logo"
      to="/"
      activeOptions={{ exact: true }}
      aria-label={named ? `${PRODUCT}, home` : 'Home'}
    >
      <svg viewBox="0 0 26 26" aria-hidden="true">
        <rect width="26" height="26" rx="6" fill="var(--text)" />
        <rect x="6" y="6" width="3" height="14" rx="1" fill="var(--canvas)" />
        <rect x="11.5" y="15" width="3" height="5" rx="1" fill="var(--canvas)" opacity=".55" />
        <rect x="17" y="6" width="3" height="14" rx="1" fill="var(--ok)" />
      </svg>
      {named && <b>{PRODUCT}</b>}
      <span>beta</span>
    </Link>
  )
}
