CREATE TABLE `output_rates` (
	`model_key` text NOT NULL,
	`day_ms` integer NOT NULL,
	`tokens_per_second` integer NOT NULL,
	PRIMARY KEY(`model_key`, `day_ms`)
);
--> statement-breakpoint
CREATE INDEX `output_rates_by_day` ON `output_rates` (`day_ms`);--> statement-breakpoint
ALTER TABLE `calls` ADD `output_rate` integer;