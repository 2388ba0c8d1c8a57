import type { ComponentType } from 'react'

/** An icon component, for example one of lucide-react. */
export type IconType = ComponentType<{ className?: string; 'aria-hidden'?: boolean | 'true' | 'false' }>
