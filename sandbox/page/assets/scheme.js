/** Sets the color scheme before the page is drawn. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const setScheme = () => {
  document.documentElement.dataset.bsTheme = dark.matches ? 'dark' : 'light';
};
setScheme();
dark.addEventListener('change', setScheme);
