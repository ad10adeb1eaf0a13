import { render } from 'preact';
import '../shared/styles.css';
import { App } from './app.js';
import { restorePaying } from './paying.js';

const page = document.getElementById('page');
if (page === null) throw new Error('the document has no #page');
restorePaying();
render(<App />, page);
