ALTER TABLE `credit_entries` ADD `subject_kind` text;--> statement-breakpoint
ALTER TABLE `credit_entries` ADD `subject_id` text;--> statement-breakpoint
ALTER TABLE `credit_entries` ADD `correction` text;