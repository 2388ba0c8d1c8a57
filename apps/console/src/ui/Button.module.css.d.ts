declare const styles: {
  readonly danger: string
  readonly ghost: string
  readonly large: string
  readonly primary: string
  readonly small: string
}
export default styles
