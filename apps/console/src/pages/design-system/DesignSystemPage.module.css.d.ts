declare const styles: {
  readonly colours: string
  readonly display: string
  readonly kit: string
  readonly meta: string
  readonly pageTitle: string
  readonly pair: string
  readonly small: string
}
export default styles
