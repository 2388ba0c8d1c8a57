import type { ComponentType } from 'react'

/** An icon component; lucide-react's are of this type. */
export type IconType = ComponentType<{ className?: string; 'aria-hidden'?: boolean | 'true' | 'false' }>
