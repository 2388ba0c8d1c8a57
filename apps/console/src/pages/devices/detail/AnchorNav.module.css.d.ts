declare const styles: {
  readonly away: string
  readonly nav: string
}
export default styles
